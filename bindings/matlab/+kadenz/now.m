function ns = now()
%NOW  The present time, in nanoseconds of CLOCK_MONOTONIC, as uint64.
  ns = kadenz_mex('now');
end
