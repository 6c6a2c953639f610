classdef Recording < kadenz.internal.Handle
%RECORDING  A run that is being written, in a new or empty folder.
%   run = kadenz.Recording('run');
%   run = kadenz.Recording('run', 'samples', true)   keeps each sample, with its time: `kadenz export`, `kadenz modes`
%                                                    and the chart of a report over time need them
%   run.time('control', @() law(x))            times a call
%   run.record('control', BEGIN, END)          times of kadenz.now()
%   disp(run.finish())
%   `kadenz show run` and kadenz.Run read it.
  properties (SetAccess = private)
    series = struct()
  end
  methods
    function this = Recording(folder, varargin)
      options = kadenz.internal.options(struct('samples', false), varargin);
      this.id = kadenz_mex('recording', folder);
      if options.samples
        kadenz_mex('keep_samples', this.id);
      end
    end
    function record(this, name, begin_ns, end_ns)
      kadenz_mex('record', this.of(name), begin_ns, end_ns);
    end
    function varargout = time(this, name, call)
      id = this.of(name);
      begin_ns = kadenz_mex('now');
      [varargout{1:nargout}] = call();
      kadenz_mex('record', id, begin_ns, kadenz_mex('now'));
    end
    function addSeries(this, name, deadline)
    %ADDSERIES  A series of a name; values above DEADLINE seconds count as missed. Without it the first value adds one.
      if nargin < 3
        deadline = 0;
      end
      if ~isvarname(name)
        error('kadenz:error', '%s is not a valid name of a series: letters, digits and _', name);
      end
      this.series.(name) = kadenz_mex('series', this.id, name, deadline);
    end
    function text = finish(this)
      text = kadenz_mex('finish', this.id);
      this.close();
    end
    function close(this)
      cellfun(@(name) kadenz_mex('close', this.series.(name)), fieldnames(this.series));
      this.series = struct();
      close@kadenz.internal.Handle(this);
    end
  end
  methods (Access = private)
    function id = of(this, name)
      if ~isfield(this.series, name)
        this.addSeries(name);
      end
      id = this.series.(name);
    end
  end
end
