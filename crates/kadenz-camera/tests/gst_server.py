# A server of cameras by gst-rtsp-server: prints its port and that of one with a password, and serves until its input ends.
# Debian: python3-gi gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-{base,good,bad,ugly}
import sys
import threading

try:
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtspServer", "1.0")
except (ImportError, ValueError) as error:
    sys.exit(f"missing: {error}")
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
elements = {"/h264": "x264enc", "/slices": "x264enc", "/h265": "x265enc", "/jpeg": "jpegenc"}


def server(paths, role=None):
    it = GstRtspServer.RTSPServer()
    it.set_address("127.0.0.1")
    it.set_service("0")
    for path in paths:
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_launch(f"( {streams[path]} )")
        factory.set_shared(True)
        if role:
            permissions = GstRtspServer.RTSPPermissions()
            for permission in ("media.factory.access", "media.factory.construct"):
                permissions.add_permission_for_role(role, permission, True)
            factory.set_permissions(permissions)
        it.get_mount_points().add_factory(path, factory)
    return it


for element in elements.values():
    if Gst.ElementFactory.find(element) is None:
        sys.exit(f"missing: {element}")
everybodys = server(streams)
secret = server(["/h264"], "watcher")
auth = GstRtspServer.RTSPAuth()
token = GstRtspServer.RTSPToken()
token.set_string("media.factory.role", "watcher")
auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
auth.add_digest("user", "p@ss", token)
secret.set_auth(auth)
everybodys.attach(None)
secret.attach(None)
loop = GLib.MainLoop()
print(everybodys.get_bound_port(), secret.get_bound_port(), flush=True)


def end_with_input():
    sys.stdin.read()
    loop.quit()


threading.Thread(target=end_with_input, daemon=True).start()
loop.run()
