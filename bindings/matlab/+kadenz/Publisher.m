classdef Publisher < handle
%PUBLISHER  Publishes to one channel.
%   pub = kadenz.Publisher('ARM')                     bytes, on the bus that LCM_DEFAULT_URL names
%   pub = kadenz.Publisher('ARM', 'robot.command_t')  messages of that type
%   pub = kadenz.Publisher('ARM', TYPE, NODE)         on a kadenz.Node
%   pub.send(MESSAGE)
  properties (SetAccess = private)
    channel = ''
    type = ''
    node = []
    encode = []
  end
  methods
    function this = Publisher(channel, varargin)
      [this.type, this.node] = kadenz.internal.type_and_node(varargin);
      this.channel = channel;
      if ~isempty(this.type)
        this.encode = kadenz.internal.type_function(this.type, 'encode');
      end
    end
    function send(this, message)
      if ~isempty(this.encode)
        message = this.encode(message);
      end
      kadenz_mex('publish', this.node.id, this.channel, message);
    end
  end
end
