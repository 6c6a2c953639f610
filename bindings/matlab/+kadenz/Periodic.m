classdef Periodic < kadenz.internal.Handle
%PERIODIC  A periodic loop.
%   loop = kadenz.Periodic('100Hz', 'deadline', '5ms', 'record', run);
%   while true
%     tick = loop.next();       % sleeps until the next tick: index, skipped, step (s), lateness (ns)
%     ...
%   end
%
%   Options: 'deadline' TEXT, 'priority' 1 to 99 (SCHED_FIFO), 'lockMemory' true, 'cpus' '2-3', 'record' kadenz.Recording,
%   'series' NAME (lateness). The loop runs without a setting that the machine refuses, and its run has a warning.
  methods
    function this = Periodic(rate, varargin)
      options = kadenz.internal.options(struct('deadline', '', 'priority', 0, 'lockMemory', false, 'cpus', '', 'record', [], 'series', 'lateness'), varargin);
      recording = [];
      if ~isempty(options.record)
        recording = options.record.id;
      end
      this.id = kadenz_mex('periodic', rate, options.deadline, options.priority, options.lockMemory, options.cpus, recording, options.series);
    end
    function tick = next(this)
      values = [];
      while isempty(values)
        values = kadenz_mex('next', this.id, 0.05);
      end
      tick = struct('index', values(1), 'skipped', values(2), 'step', values(3), 'lateness', values(4));
    end
  end
end
