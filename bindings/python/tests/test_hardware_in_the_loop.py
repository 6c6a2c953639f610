"""examples/hardware-in-the-loop: the controller in Python holds the arm that the example simulates."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kadenz

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/hardware-in-the-loop"
ARM = os.environ.get("KADENZ_ARM", "")


@pytest.mark.skipif(not os.path.isfile(ARM), reason="no arm: cargo build -p kadenz --example hardware_in_the_loop, and its path in KADENZ_ARM")
def test_a_controller_holds_the_arm(tmp_path):
    url = f"udpm://239.255.76.67:{20_000 + os.getpid() % 40_000}?ttl=0"
    controller = subprocess.Popen([sys.executable, EXAMPLE / "controller.py", tmp_path / "controller", url])
    arm = subprocess.run([ARM, tmp_path / "arm", url, "200Hz", "3"], check=True, stdout=subprocess.PIPE, text=True)
    assert controller.wait() == 0
    position = float(arm.stdout.split("the arm is at ")[1].split()[0])
    assert abs(position - 1.0) < 0.2, arm.stdout
    assert kadenz.open_run(tmp_path / "arm")["round-trip"].count > 20
    assert kadenz.open_run(tmp_path / "controller")["publish"].count > 20
