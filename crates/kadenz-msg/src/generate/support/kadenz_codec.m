classdef kadenz_codec
% What the functions that `kadenz msg gen --lang matlab` writes have in common: LCM's encoding.
%
% Bytes lie the wrong way round here, from the last to the first: so the numbers in them are little-endian, as the
% machine has them, and whole arrays are turned round at once. `at` is how many bytes are left to be read.
  methods (Static)
    function refuse(varargin)
      error('kadenz:message', varargin{:});
    end

    % The bytes of a message, turned round, when its fingerprint is this one.
    function b = open(bytes, fingerprint, name)
      b = reshape(bytes(end:-1:1), 1, []);
      if ~isa(b, 'uint8') || numel(b) < 8 || ~isequal(b(end-7:end), fingerprint)
        kadenz_codec.refuse('the message is not of the type %s, or of another version of it', name);
      end
    end

    function close(at, name)
      if at > 0
        kadenz_codec.refuse('the message has %d bytes more than a %s', at, name);
      end
    end

    % How many elements there are, when the message has room for them at so many bytes each.
    function n = room(at, name, least, sizes)
      sizes = double(sizes);
      if any(sizes < 0)
        kadenz_codec.refuse('the length of %s is negative', name);
      end
      n = prod(sizes);
      if n * least > at || n > at + 1024
        kadenz_codec.refuse('%s would have %g elements, more than the message can hold', name, n);
      end
    end

    % An array of numbers.
    function [v, at] = numbers(b, at, name, type, width, sizes)
      n = kadenz_codec.room(at, name, width, sizes);
      from = at;
      at = at - n * width;
      v = b(from:-1:at+1);
      if strcmp(type, 'logical')
        v = v ~= 0;
      elseif ~strcmp(type, 'uint8')
        v = typecast(b(at+1:from), type);
        v = v(end:-1:1);
      end
      v = kadenz_codec.shaped(v, sizes);
    end

    % A string.
    function [v, at] = text(b, at, name)
      [n, at] = kadenz_codec.numbers(b, at, name, 'int32', 4, 1);
      n = double(n);
      if n < 0 || n > at
        kadenz_codec.refuse('the message ends within %s', name);
      end
      if n == 0 || b(at - n + 1) ~= 0
        kadenz_codec.refuse('the string %s does not end with a NUL', name);
      end
      v = b(at:-1:at-n+2);
      at = at - n;
      if n == 1
        v = '';
      elseif kadenz_codec.is_octave() || all(v < 128)
        v = char(v);
      else
        v = native2unicode(v, 'UTF-8');
      end
    end

    % A cell array of strings.
    function [v, at] = texts(b, at, name, sizes)
      n = kadenz_codec.room(at, name, 5, sizes);
      v = cell(1, n);
      for k = 1:n
        [v{k}, at] = kadenz_codec.text(b, at, name);
      end
      v = kadenz_codec.shaped(v, sizes);
    end

    % What lies in the order of the message, whose last index runs fastest, as an array.
    function v = shaped(v, sizes)
      if numel(sizes) > 1
        sizes = double(sizes(end:-1:1));
        v = permute(reshape(v, sizes), numel(sizes):-1:1);
      else
        v = reshape(v, 1, numel(v));
      end
    end

    % The elements of an array in the order of the message, from the last to the first.
    function v = flat(name, v, sizes)
      if numel(v) ~= prod(sizes)
        kadenz_codec.refuse('%s has %d elements, and needs %d', name, numel(v), prod(sizes));
      end
      if numel(sizes) > 1 && ~isempty(v)
        found = size(v);
        found(end+1:numel(sizes)) = 1;
        if ~isequal(found, sizes)
          kadenz_codec.refuse('%s is %s, and must be %s', name, mat2str(found), mat2str(sizes));
        end
        v = permute(v, numel(sizes):-1:1);
      end
      v = reshape(v(end:-1:1), 1, numel(v));
    end

    function b = put_numbers(name, v, type, sizes)
      v = kadenz_codec.flat(name, v, sizes);
      if strcmp(type, 'logical')
        b = uint8(v ~= 0);
      else
        b = typecast(feval(type, v), 'uint8');
      end
    end

    % What a member states as an array's length.
    function b = put_length(name, n, type)
      if n > intmax(type)
        kadenz_codec.refuse('%s cannot be %d: it is an %s', name, n, type);
      end
      b = typecast(feval(type, n), 'uint8');
    end

    function b = put_text(name, v)
      v = char(v);
      if any(v > 127) && ~kadenz_codec.is_octave()
        v = unicode2native(v, 'UTF-8');
      end
      if any(v == 0)
        kadenz_codec.refuse('the string %s holds a NUL, which would end it for every receiver', name);
      end
      v = reshape(uint8(v), 1, numel(v));
      b = [uint8(0), v(end:-1:1), typecast(int32(numel(v) + 1), 'uint8')];
    end

    function b = put_texts(name, v, sizes)
      v = kadenz_codec.flat(name, v, sizes);
      for k = 1:numel(v)
        v{k} = kadenz_codec.put_text(name, v{k});
      end
      b = [v{:}, zeros(1, 0, 'uint8')];
    end

    % Structs in the order of the message, as an array.
    function v = joined(parts, sizes)
      v = [];
      if ~isempty(parts)
        v = kadenz_codec.shaped([parts{:}], sizes);
      end
    end

    % How deep a struct may lie within itself.
    function depth(found, name)
      if found > 128
        kadenz_codec.refuse('%s lies more than 128 deep within itself, which is not followed', name);
      end
    end

    function found = is_octave()
      persistent octave
      if isempty(octave)
        octave = exist('OCTAVE_VERSION', 'builtin') > 0;
      end
      found = octave;
    end
  end
end
