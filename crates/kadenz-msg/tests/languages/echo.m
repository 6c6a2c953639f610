% Decodes and encodes again what comes as "type hexadecimal-digits".
while true
  line = fgetl(stdin);
  if ~ischar(line), break, end
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
