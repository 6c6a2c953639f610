classdef Log < kadenz.internal.Handle
%LOG  A log of messages that is read: LCM's event log, MCAP, ROS bags.
%   log = kadenz.Log('drive.mcap');
%   while true
%     [payload, channel, ns] = log.next();     % ns since 1970, uint64
%     if isempty(channel), break, end
%   end
%   log.seek(NS)                               % the first message at or after that time
  methods
    function this = Log(path)
      this.id = kadenz_mex('log', path);
    end
    function [payload, channel, ns] = next(this)
      [payload, channel, ns] = kadenz_mex('log_next', this.id);
    end
    function seek(this, ns)
      kadenz_mex('log_seek', this.id, ns);
    end
  end
end
