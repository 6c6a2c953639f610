function options = options(options, given)
%OPTIONS  Names and values over defaults; a name that has no default is an error.
  for i = 1:2:numel(given)
    if ~ischar(given{i}) || ~isfield(options, given{i}) || i == numel(given)
      error('kadenz:error', 'options are names with values; there are %s', strjoin(fieldnames(options)', ', '));
    end
    options.(given{i}) = given{i + 1};
  end
end
