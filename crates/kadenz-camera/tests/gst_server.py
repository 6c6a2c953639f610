# A server of cameras by gst-rtsp-server: prints its port, and serves until its input ends.
# Debian: python3-gi gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-{base,good,bad,ugly}
import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer

Gst.init(None)
raw = "videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=30/1 ! videoconvert"
streams = {
    "/h264": f"{raw} ! x264enc tune=zerolatency key-int-max=10 bitrate=2000 ! rtph264pay name=pay0 pt=96",
    "/slices": f"{raw} ! x264enc tune=zerolatency sliced-threads=true threads=4 key-int-max=10 bitrate=4000"
    " ! rtph264pay name=pay0 pt=97 config-interval=-1",
    "/h265": f"{raw} ! x265enc tune=zerolatency key-int-max=10 ! rtph265pay name=pay0 pt=96",
    "/jpeg": f"{raw} ! video/x-raw,format=I420 ! jpegenc ! rtpjpegpay name=pay0",
}
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service("0")
mounts = server.get_mount_points()
elements = {"/h264": "x264enc", "/slices": "x264enc", "/h265": "x265enc", "/jpeg": "jpegenc"}
for path, launch in streams.items():
    if Gst.ElementFactory.find(elements[path]) is None:
        sys.exit(f"{elements[path]} is missing")
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(f"( {launch} )")
    factory.set_shared(True)
    mounts.add_factory(path, factory)

secret = GstRtspServer.RTSPMediaFactory()
secret.set_launch(f"( {streams['/h264']} )")
permissions = GstRtspServer.RTSPPermissions()
permissions.add_permission_for_role("watcher", "media.factory.access", True)
permissions.add_permission_for_role("watcher", "media.factory.construct", True)
secret.set_permissions(permissions)
mounts.add_factory("/secret", secret)
# What has no permissions of its own is open to everybody.
auth = GstRtspServer.RTSPAuth()
anybody = GstRtspServer.RTSPToken()
anybody.set_string("media.factory.role", "anybody")
auth.set_default_token(anybody)
watcher = GstRtspServer.RTSPToken()
watcher.set_string("media.factory.role", "watcher")
auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
auth.add_digest("user", "p@ss", watcher)
server.set_auth(auth)

server.attach(None)
loop = GLib.MainLoop()
print(server.get_bound_port(), flush=True)


def end_with_input():
    sys.stdin.read()
    loop.quit()


threading.Thread(target=end_with_input, daemon=True).start()
loop.run()
