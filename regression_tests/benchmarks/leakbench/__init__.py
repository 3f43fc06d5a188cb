"""LeakBench: small programs that leak, their fixed twins, and healthy programs that look alike."""
