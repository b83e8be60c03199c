#!/usr/bin/env python3
"""Tests of run.py on blocks that are made up: each fault of a block is found, and named."""

import contextlib
import io
import signal
import unittest

from run import Block, blocks, fits, pages, paste, ports, too_late

signal.signal(signal.SIGALRM, too_late)


def pasted(script, shown="", then="true\n"):
    """The number of two blocks that passed, and the text of the run."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        done = paste([Block("p.md", "first", script, shown), Block("p.md", "second", then)], "target/debug")
    return done, text.getvalue()


class Blocks(unittest.TestCase):
    def assert_fault(self, script, fault, shown=""):
        done, text = pasted(script, shown)
        self.assertEqual(done, 0, text)
        self.assertIn(fault, text)

    def test_sound_blocks_pass(self):
        done, text = pasted("echo 12 s & wait $!\n", "7 ms\n", then="sleep 60 & last=$!\nsleep 0.2; kill $last; wait $last || true\n")
        self.assertEqual(done, 2, text)

    def test_each_fault_is_named(self):
        self.assert_fault("false\n", "exit code 1")
        self.assert_fault("echo no\n", "another shape than this, which p.md shows", shown="yes\n")
        self.assert_fault("sleep 60 &\n", "still running: ")
        self.assert_fault("export LON_X=1\n", "still set: LON_X")
        self.assert_fault("LON_Y=1\n", "still set: LON_Y")
        self.assert_fault("kill %1\n", "the reader's job was ended")

    def test_a_variable_for_one_command_may_be_set(self):
        done, text = pasted("LON_X=1 true\n")
        self.assertEqual(done, 2, text)

    def test_shapes(self):
        self.assertTrue(fits("...\np99 3.3ms ...\n", "a\nb\np99 12.7µs more\n"))
        self.assertFalse(fits("p99 3.3ms\n", "p99 3.3ms more\n"))

    def test_names_and_ports_are_used_once(self):
        serve = "sut-node serve --listen 127.0.0.1:1234\n"
        for other in [Block("b.md", "two", serve), Block("b.md", "one", "true\n")]:
            with self.assertRaises(SystemExit):
                ports([Block("a.md", "one", serve), other])

    def test_the_pages_of_the_repository_are_read(self):
        self.assertIn("docs/guide/hosts.md", pages())
        tried = [block for page in pages() for block in blocks(page)[0]]
        ports(tried)
        self.assertGreater(len(tried), 30)


if __name__ == "__main__":
    unittest.main()
