function ns = now()
%NOW  Now, in nanoseconds of CLOCK_MONOTONIC, as uint64.
  ns = kadenz_mex('now');
end
