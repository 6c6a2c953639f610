classdef Run < kadenz.internal.Handle
%RUN  A run, complete or not, or a file of another program that `kadenz import` takes.
%   run = kadenz.Run('run');
%   run.names                            {'lateness', ...}
%   run.percentile('lateness', 99.9)     ns; [] where the sample cannot carry it
%   run.facts('lateness')                count, min_ns, max_ns, mean_ns, percentiles, deadline
%   h = run.histogram('lateness')        low, high (ns) and count of each bucket
%   t = run.intervals('lateness')        start, count, misses, min, max, p50, p99 of each interval (ns)
%   disp(run.differsFrom(baseline))      the differences beyond chance, a sentence a line
%   run.plotPercentiles('lateness'), run.plotOverTime('lateness'), run.plotHistogram('lateness')
  properties (SetAccess = private)
    names = {}
    warnings = {}
    json = struct()
  end
  properties (Access = private)
    series = {}
  end
  methods
    function this = Run(path)
      this.id = kadenz_mex('run', path);
      facts = jsondecode(kadenz_mex('run_json', this.id));
      this.json = facts.run;
      this.warnings = facts.warnings;
      this.series = facts.series;
      if isstruct(this.series)
        this.series = num2cell(this.series);
      end
      this.names = cellfun(@(it) it.name, this.series(:)', 'UniformOutput', false);
    end
    function it = facts(this, name)
      which = find(strcmp(this.names, name));
      if isempty(which)
        error('kadenz:error', 'the run has no series %s; it has %s', name, strjoin(this.names, ', '));
      end
      it = this.series{which};
    end
    function it = histogram(this, name)
      values = kadenz_mex('run_histogram', this.id, name);
      it = struct('low', values(:, 1), 'high', values(:, 2), 'count', values(:, 3));
    end
    function it = intervals(this, name)
      values = kadenz_mex('run_intervals', this.id, name);
      it = struct('start', values(:, 1), 'count', values(:, 2), 'misses', values(:, 3), 'min', values(:, 4), 'max', values(:, 5), ...
                  'p50', values(:, 6), 'p99', values(:, 7));
    end
    function ns = percentile(this, name, percent)
      h = this.histogram(name);
      total = sum(h.count);
      above = total * (100 - percent) / 100;
      ns = [];
      if total == 0 || (percent < 100 && above < 1 - 1e-9 * total)
        return
      end
      place = find(cumsum(h.count) >= total - above - 1e-9, 1);
      ns = min(h.high(place), this.facts(name).max_ns);
    end
    function text = differsFrom(this, baseline)
      text = kadenz_mex('run_compare', baseline.id, this.id);
    end
    function plotPercentiles(this, name)
    %PLOTPERCENTILES  The value of each percentile, with 90 %, 99 % and 99.9 % at equal steps.
      h = this.histogram(name);
      above = max(1 - cumsum(h.count) / sum(h.count), 1 / sum(h.count));
      stairs(1 ./ above, h.high / 1e3);
      set(gca, 'xscale', 'log', 'xtick', 10 .^ (0:6), 'xticklabel', {'0', '90', '99', '99.9', '99.99', '99.999', '99.9999'});
      xlabel('percentile, %');
      this.deadline_line(name);
    end
    function plotOverTime(this, name)
    %PLOTOVERTIME  The largest value and the median of each interval.
      t = this.intervals(name);
      plot(t.start / 1e9, t.max / 1e3, '-', t.start / 1e9, t.p50 / 1e3, '--');
      legend('largest', 'median');
      xlabel('time, s');
      this.deadline_line(name);
    end
    function plotHistogram(this, name)
    %PLOTHISTOGRAM  How often each value was measured, beside the Gaussian of the same mean and deviation.
      h = this.histogram(name);
      facts = this.facts(name);
      edges = linspace(min(h.low), max(h.high) + 1, 101) / 1e3;
      place = min(floor(((h.low + h.high) / 2e3 - edges(1)) / (edges(2) - edges(1))) + 1, 100);
      heights = accumarray(place, h.count, [100, 1]);
      width = edges(2) - edges(1);
      middle = edges(1:100) + width / 2;
      bar(middle, max(heights, 0.5), 1);
      deviation = facts.stddev_ns / 1e3;
      if ~isempty(deviation) && deviation > 0
        gauss = exp(-0.5 * ((middle - facts.mean_ns / 1e3) / deviation) .^ 2) / (deviation * sqrt(2 * pi)) * sum(h.count) * width;
        hold on
        plot(middle, max(gauss, 0.5), 'r');
        hold off
        legend(name, 'Gaussian of the same mean and deviation');
      end
      set(gca, 'yscale', 'log');
      xlabel('us');
      ylabel('values');
    end
  end
  methods (Access = private)
    function deadline_line(this, name)
      ylabel('us');
      facts = this.facts(name);
      if isfield(facts, 'deadline') && ~isempty(facts.deadline)
        line(xlim(), facts.deadline.limit_ns / 1e3 * [1, 1], 'color', 'k', 'linestyle', '--');
      end
    end
  end
end
