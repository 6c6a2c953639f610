classdef Subscriber < kadenz.internal.Handle
%SUBSCRIBER  Receives from the channels that a regular expression matches.
%   sub = kadenz.Subscriber('ARM')                   bytes, on the bus that LCM_DEFAULT_URL names
%   sub = kadenz.Subscriber('ARM', 'robot.state_t')  messages of that type
%   sub = kadenz.Subscriber('ARM', TYPE, NODE)       on a kadenz.Node
%
%   message = sub.receive(SECONDS)   the next message; [] where none came in time. 0 does not wait
%   sub.hasNewMessage()              whether a message waits
%   sub.LatestMessage                the newest message, repeatedly; older ones are skipped
%   sub.NewMessageFcn = @(message) ...; sub.poll()   calls the function for each waiting message
%
%   From the first subscriber of a node on, a thread of the library receives, also while MATLAB is busy; beyond 30 waiting
%   messages the oldest is dropped. Ctrl-C ends receive.
  properties
    NewMessageFcn = []
  end
  properties (Dependent)
    LatestMessage
  end
  properties (SetAccess = private)
    channel = ''
    type = ''
    node = []
    takenAt = []   % when the last message was complete in this process, ns
    from = ''      % its channel
  end
  properties (Access = private)
    decode = []
    waiting = {}
    latest = []
  end
  methods
    function this = Subscriber(channel, varargin)
      [this.type, this.node] = kadenz.internal.type_and_node(varargin);
      this.channel = channel;
      if ~isempty(this.type)
        this.decode = kadenz.internal.type_function(this.type, 'decode');
      end
      this.id = kadenz_mex('subscribe', this.node.id, channel, 0);
    end
    function message = receive(this, seconds)
      message = [];
      if nargin < 2
        seconds = Inf;
      end
      if ~isempty(this.waiting)
        message = this.give(this.waiting{:});
        this.waiting = {};
        return
      end
      % In slices, so that Ctrl-C takes effect between them.
      while true
        [payload, from, at] = kadenz_mex('receive', this.id, min(seconds, 0.05));
        if ~isempty(from)
          message = this.give(payload, from, at);
          return
        end
        seconds = seconds - 0.05;
        if seconds <= 0
          return
        end
      end
    end
    function it = hasNewMessage(this)
      if isempty(this.waiting)
        [payload, from, at] = kadenz_mex('receive', this.id, 0);
        if ~isempty(from)
          this.waiting = {payload, from, at};
        end
      end
      it = ~isempty(this.waiting);
    end
    function message = get.LatestMessage(this)
      newest = this.waiting;
      this.waiting = {};
      while true
        [payload, from, at] = kadenz_mex('receive', this.id, 0);
        if isempty(from)
          break
        end
        newest = {payload, from, at};
      end
      if ~isempty(newest)
        this.latest = this.give(newest{:});
      end
      message = this.latest;
    end
    function count = poll(this)
      count = 0;
      while this.hasNewMessage()
        message = this.receive(0);
        count = count + 1;
        if ~isempty(this.NewMessageFcn)
          call = this.NewMessageFcn;
          call(message);
        end
      end
    end
  end
  methods (Access = private)
    function message = give(this, payload, from, at)
      this.takenAt = at;
      this.from = from;
      if isempty(this.decode)
        message = payload;
      else
        message = this.decode(payload);
      end
    end
  end
end
