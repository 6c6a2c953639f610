"""rospy's end of the tests of ros1://.

python rospy_end.py publish    publishes "hello" to /robot/chatter until it is killed
python rospy_end.py subscribe  prints what comes on /robot/chatter
"""

import sys

import rospy
from std_msgs.msg import String

rospy.init_node("rospy_end", anonymous=True, disable_signals=True)
if sys.argv[1] == "publish":
    publisher = rospy.Publisher("/robot/chatter", String, queue_size=10)
    while not rospy.is_shutdown():
        publisher.publish("hello")
        rospy.sleep(0.02)
else:
    rospy.Subscriber("/robot/chatter", String, lambda it: print("heard:", it.data, flush=True))
    rospy.spin()
