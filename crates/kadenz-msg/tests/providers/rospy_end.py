"""The rospy side of the tests of ros1://.

python rospy_end.py publish         publishes "hello" to /robot/chatter until a signal kills it
python rospy_end.py latch           publishes "kept" to /robot/chatter once, latched, and prints a line
python rospy_end.py subscribe       prints the messages of /robot/chatter
python rospy_end.py connections     prints the same, and whether its publisher latches
python rospy_end.py serve           offers /robot/level, which fails for the logger "none"
python rospy_end.py call [LEVEL..]  calls /robot/level, once for each level, over one connection
python rospy_end.py call_other      calls /robot/level as a service of another type
"""

import sys

import rospy
from roscpp.srv import GetLoggers, SetLoggerLevel, SetLoggerLevelResponse
from std_msgs.msg import String


def publish():
    publisher = rospy.Publisher("/robot/chatter", String, queue_size=10)
    while not rospy.is_shutdown():
        publisher.publish("hello")
        rospy.sleep(0.02)


def latch():
    publisher = rospy.Publisher("/robot/chatter", String, queue_size=10, latch=True)
    publisher.publish("kept")
    print("published", flush=True)
    rospy.spin()


def subscribe():
    rospy.Subscriber("/robot/chatter", String, lambda it: print("heard:", it.data, flush=True))
    rospy.spin()


def connections():
    def heard(it):
        print("heard:", it.data, "latching:", it._connection_header["latching"], flush=True)

    rospy.Subscriber("/robot/chatter", String, heard)
    rospy.spin()


def serve():
    def level(request):
        if request.logger == "none":
            raise ValueError("no such logger")
        print("level:", request.logger, request.level, flush=True)
        return SetLoggerLevelResponse()

    service = rospy.Service("/robot/level", SetLoggerLevel, level)
    print("serves", flush=True)
    service.spin()


def call():
    rospy.wait_for_service("/robot/level", timeout=20)
    level = rospy.ServiceProxy("/robot/level", SetLoggerLevel, persistent=True)
    for name in sys.argv[2:]:
        try:
            level("rosout", name)
            print("answered:", name, flush=True)
        except rospy.ServiceException as error:
            print("failed:", error, flush=True)


def call_other():
    rospy.wait_for_service("/robot/level", timeout=20)
    try:
        rospy.ServiceProxy("/robot/level", GetLoggers)()
    except (rospy.ServiceException, rospy.exceptions.TransportException) as error:
        print("failed:", error, flush=True)


rospy.init_node("rospy_end_" + sys.argv[1], anonymous=sys.argv[1] != "serve", disable_signals=True)
globals()[sys.argv[1]]()
