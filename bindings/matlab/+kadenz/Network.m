classdef Network < kadenz.internal.Handle
%NETWORK  EtherCAT: a loop in the background, and cached inputs and outputs.
%   net = kadenz.Network('sim:59');          a virtual segment; 'eth1' is an interface, 'sim:robot.toml' a file
%   actual = net.input('left knee', hex2dec('6064'));
%   target = net.output('left knee', hex2dec('607A'));
%   net.start();
%   cycle = 0;
%   while cycle < 1000
%     cycle = net.wait(cycle, 1);            % a cycle after that one; [] where none came within a second, 0 only looks
%     net.set(target, net.get(actual));      % several at once: net.get([a b c])
%   end
%   disp(net.stop())
%
%   Options behind the segment: 'cycle' '1kHz', 'deadline' '400us', 'priority' 80, 'lockMemory' true, 'esi' FOLDER.
%   get and set are of doubles, which hold integers up to 2^53; getInteger and setInteger are of int64, for 64-bit objects.
%   input and output take a sub-index and a type behind the index: net.input('valves', hex2dec('6000'), 1, 'bool').
  methods
    function this = Network(segment, varargin)
      options = kadenz.internal.options(struct('cycle', '1kHz', 'deadline', '', 'priority', 0, 'lockMemory', false, 'esi', ''), varargin);
      this.id = kadenz_mex('network', segment, options.cycle, options.deadline, options.priority, options.lockMemory, options.esi);
    end
    function value = input(this, device, index, varargin)
      value = this.ask('input', device, index, varargin);
    end
    function value = output(this, device, index, varargin)
      value = this.ask('output', device, index, varargin);
    end
    function start(this, recording)
    %START  Start the loop; with a kadenz.Recording its series go there: stop before the recording is finished.
      if nargin < 2
        kadenz_mex('start', this.id, []);
      else
        kadenz_mex('start', this.id, recording.id);
      end
    end
    function it = get(this, values)
      it = kadenz_mex('get', this.id, values);
    end
    function set(this, values, to)
      kadenz_mex('set', this.id, values, to);
    end
    function it = getInteger(this, values)
    %GETINTEGER  As get, as int64: a double holds the integers up to 2^53 only.
      it = kadenz_mex('get_integer', this.id, values);
    end
    function setInteger(this, values, to)
    %SETINTEGER  As set, from int64.
      if ~isa(to, 'int64')
        error('kadenz:error', 'setInteger takes int64; set takes doubles');
      end
      kadenz_mex('set', this.id, values, to);
    end
    function cycle = wait(this, after, seconds)
    %WAIT  The number of the last cycle, after that one; [] where none came in time, an error where the loop has ended.
      while true
        cycle = kadenz_mex('wait', this.id, after, min(seconds, 0.05));
        seconds = seconds - 0.05;
        if ~isempty(cycle) || seconds <= 0
          return
        end
      end
    end
    function it = state(this)
      it = kadenz_mex('state', this.id);
    end
    function text = stop(this)
      text = kadenz_mex('stop', this.id);
    end
  end
  methods (Access = private)
    function value = ask(this, what, device, index, more)
      defaults = {0, ''};
      more = [more, defaults(numel(more) + 1:end)];
      if isnumeric(device)
        device = sprintf('%d', device);
      end
      value = kadenz_mex(what, this.id, device, index, more{:});
    end
  end
end
