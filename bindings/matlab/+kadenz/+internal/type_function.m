function it = type_function(type, what)
%TYPE_FUNCTION  The function of a type that encodes or decodes.
  name = [type '_' what];
  dot = find(name == '.', 1, 'last');
  folder = fullfile(['+' strrep(name(1:dot - 1), '.', [filesep '+'])], [name(dot + 1:end) '.m']);
  if isempty(dot)
    folder = [name '.m'];
  end
  if exist(folder, 'file') ~= 2
    error('kadenz:error', 'there is no %s on the path; write it by `kadenz msg gen FILE.lcm --lang matlab --out DIR`, and addpath(''DIR'')', folder);
  end
  it = str2func(name);
end
