classdef LogWriter < kadenz.internal.Handle
%LOGWRITER  A log of messages that is written: MCAP where its name ends with .mcap, else LCM's event log.
%   log = kadenz.LogWriter('drive.mcap');
%   log.write('ARM', PAYLOAD)          now, or at a time: log.write('ARM', PAYLOAD, NS)
%   log.finish()
  methods
    function this = LogWriter(path)
      this.id = kadenz_mex('log_create', path);
    end
    function write(this, channel, payload, ns)
      if nargin < 4
        ns = uint64(now_s() * 1e9);
      end
      kadenz_mex('log_write', this.id, channel, payload, ns);
    end
    function finish(this)
      kadenz_mex('log_finish', this.id);
      this.close();
    end
  end
end

function it = now_s()
  % Octave's time() is exact to a microsecond, MATLAB's now() to about ten.
  if exist('OCTAVE_VERSION', 'builtin')
    it = time();
  else
    it = posixtime(datetime('now', 'TimeZone', 'UTC'));
  end
end
