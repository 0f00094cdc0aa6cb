"""From submission to target: candidates, check runs, receipts, landings, proofs."""
