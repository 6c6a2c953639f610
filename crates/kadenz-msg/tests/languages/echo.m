1;
function p = load_of(small, text)
  p = robot.primitives();
  p.small = small; p.raw = 200; p.single = 0.5; p.text = text; p.yes = true;
end

function fields()
  m = robot.arrays();
  m.position = [1; 2; 3];
  m.matrix = [1 2 3; 4 5 6];
  m.samples = [-7 8];
  m.image = [1 2; 3 4; 5 255];
  m.mixed = permute(reshape((1:12) / 2, [3 2 2]), [3 2 1]);
  m.names = {'a', 'größer'};
  m.flags(1) = true;
  m.labels{1} = 'x';
  m.cube = permute(reshape(int64(1:12), [2 3 2]), [3 2 1]);
  m.cube(2, 3, 2) = intmin('int64');
  m.some = [load_of(-5, ''), load_of(0, 't')];
  m.pair = [load_of(1, ''), load_of(2, '')];
  m.table = {'1', '2', '3'; '4', '5', '6'};
  bytes = robot.arrays_encode(m);
  again = robot.arrays_decode(bytes);
  assert(again.n == 2 && again.m == 3 && again.image(3, 1) == 5 && again.mixed(2, 1, 3) == 4.5);
  assert(again.cube(2, 3, 1) == 11 && isa(again.cube, 'int64') && strcmp(again.table{2, 1}, '4'));
  assert(isequal(again.position, [1 2 3]) && strcmp(again.some(2).text, 't') && islogical(again.flags));
  assert(robot.arrays_constants.AXES == 3 && isa(again.samples, 'int32'));
  again.image = again.image';
  said = '';
  try
    robot.arrays_encode(again);
  catch error
    said = error.message;
  end
  assert(numel(said) > 10);
  printf('%02x', bytes);
  printf('\n');
end

% Decodes each line "type hexadecimal-digits", and encodes it again.
while true
  line = fgetl(stdin);
  if ~ischar(line), break, end
  if strcmp(line, 'fields')
    fields();
    break
  end
  [name, digits] = strtok(line, ' ');
  digits = double(digits(2:end));
  digits = digits - 48 - 39 * (digits > 57);
  bytes = uint8(16 * digits(1:2:end) + digits(2:2:end));
  decode = str2func([name '_decode']);
  encode = str2func([name '_encode']);
  try
    m = decode(bytes);
  catch error
    if ~strcmp(error.identifier, 'kadenz:message'), rethrow(error), end
    printf('refused: %s\n', error.message);
    continue
  end
  try
    printf('%02x', encode(m));
    printf('\n');
  catch error
    if ~strcmp(error.identifier, 'kadenz:message'), rethrow(error), end
    printf('not encoded: %s\n', error.message);
  end
end
