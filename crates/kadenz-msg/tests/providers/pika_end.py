"""The pika side of the tests of amqp://.

python pika_end.py PORT EXCHANGE  publishes to FROM_PIKA and prints the messages of TO_PIKA
"""

import sys

import pika

port, exchange = int(sys.argv[1]), sys.argv[2]
connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port))
channel = connection.channel()
queue = channel.queue_declare("", exclusive=True).method.queue
channel.queue_bind(queue, exchange, "TO_PIKA")
while True:
    channel.basic_publish(exchange, "FROM_PIKA", b"hello")
    method, _, body = channel.basic_get(queue, auto_ack=True)
    if method:
        print(method.routing_key, len(body), flush=True)
    connection.sleep(0.02)
