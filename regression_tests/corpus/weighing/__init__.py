"""What each number and each rule of the judgement is worth: what changes when it is another."""
