function text = version()
%VERSION  The version of libkadenz.
  text = kadenz_mex('version');
end
