function install(library)
%INSTALL  Build the bridge from the toolbox to libkadenz, once a machine.
%   kadenz.install           finds libkadenz by pkg-config, or below /usr/local and ~/.local
%   kadenz.install(PREFIX)   takes it from there: PREFIX/include/kadenz.h and PREFIX/lib/libkadenz.so
%
%   Install the library first: `cargo xtask install-c --prefix ~/.local`. MATLAB needs a C compiler that `mex` knows, Octave
%   its package of headers (Debian: octave-dev).
  root = fileparts(fileparts(mfilename('fullpath')));
  if nargin < 1
    library = find_library();
  end
  include = fullfile(library, 'include');
  if exist(fullfile(include, 'kadenz.h'), 'file') ~= 2
    error('kadenz:error', 'there is no kadenz.h in %s; run `cargo xtask install-c --prefix DIR`, then kadenz.install(''DIR'')', include);
  end
  lib = fullfile(library, 'lib');
  source = fullfile(root, 'src', 'kadenz_mex.c');
  if exist('OCTAVE_VERSION', 'builtin')
    links = {['-I' include], ['-L' lib], ['-Wl,-rpath,' lib], '-lkadenz'};
    build({'--mex', '-o', fullfile(root, 'kadenz_mex.mex'), source, links{:}});
    build({'-o', fullfile(root, 'kadenz_frame.oct'), fullfile(root, 'src', 'kadenz_frame.cc'), links{:}});
  else
    mex(['-I' include], ['-L' lib], '-lkadenz', ['LDFLAGS=$LDFLAGS -Wl,-rpath,' lib], '-outdir', root, source);
  end
  rehash();
  fprintf('kadenz %s is ready\n', kadenz.version());
end

function build(arguments)
  [output, status] = mkoctfile(arguments{:});
  if status ~= 0
    error('kadenz:error', 'what calls libkadenz does not build: %s', output);
  end
end

function prefix = find_library()
  [status, text] = system('pkg-config --variable=prefix kadenz');
  candidates = {'/usr/local', fullfile(getenv('HOME'), '.local')};
  if status == 0
    candidates = [{strtrim(text)}, candidates];
  end
  for i = 1:numel(candidates)
    prefix = candidates{i};
    if exist(fullfile(prefix, 'include', 'kadenz.h'), 'file') == 2
      return
    end
  end
end
