classdef Node < kadenz.internal.Handle
%NODE  A bus, which publishes and subscribes.
%   node = kadenz.Node()          the bus that LCM_DEFAULT_URL names
%   node = kadenz.Node(URL)       'udpm://239.255.76.67:7667?ttl=0', 'memq://', 'tcpq://', 'shm://', 'ros1://'
%   node.publish('ARM', MESSAGE)             bytes
%   pub = node.publisher('ARM', 'robot.command_t')
%   sub = node.subscriber('ARM', 'robot.state_t')
%   node.lost()                              number of messages that were lost on the way here, of all channels: by the
%                                            senders' numbers, as over udpm:// and shm://, else 0
%   node.close()
%
%   A type comes from a package that `kadenz msg gen robot.lcm --lang matlab` wrote; without one messages are uint8 arrays.
  properties (SetAccess = private)
    url = ''
  end
  methods
    function this = Node(url)
      if nargin < 1
        url = '';
      end
      this.url = url;
      this.id = kadenz_mex('bus', url);
    end
    function publish(this, channel, payload)
      kadenz_mex('publish', this.id, channel, payload);
    end
    function count = lost(this)
      count = kadenz_mex('lost', this.id);
    end
    function it = publisher(this, varargin)
      it = kadenz.Publisher(varargin{:}, this);
    end
    function it = subscriber(this, varargin)
      it = kadenz.Subscriber(varargin{:}, this);
    end
  end
end
