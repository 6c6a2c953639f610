function frames()
%FRAMES  What handing a frame over costs Octave's main thread by the five methods of [Enner2017b]: median of many, in milliseconds, as
%   JSON. What a method is given, a producer beside the main thread has prepared; it is not timed, nor is Java.
  told = {};
  for layout = {'gray', 'rgb'}
    for size = {'640x480', '1280x720', '1920x1080', '3840x2160'}
      camera = kadenz.Camera(['test://' size{1} '@10'], 'layout', layout{1}, 'timeout', 20);
      camera.maxAge = 60;
      image = camera.read(20);
      methods = five(camera, image);
      for i = 1:rows(methods)
        told{end + 1} = sprintf('"%s %s: %s": %.4f', layout{1}, size{1}, methods{i, 1}, median_ms(methods{i, 2}));
      end
      camera.close();
    end
  end
  printf('{%s}\n', strjoin(told, ', '));
end

function methods = five(camera, image)
  [h, w, c] = size(image);
  signed = reshape(typecast(image(:), 'int8'), h, w, c);
  interleaved = reshape(permute(signed, [3 2 1]), 1, []);
  columns = reshape(signed, 1, []);
  file = '/dev/shm/kadenz-frames.jpg';
  imwrite(image, file);
  methods = {
    '1 array of three dimensions', @() reshape(typecast(reshape(signed, h * w * c, 1), 'uint8'), h, w, c)
    '2 JPEG', @() imread(file)
    '3 bytes of rows', @() permute(reshape(typecast(interleaved, 'uint8'), c, w, h), [3 2 1])
    '4 bytes of columns', @() reshape(typecast(columns, 'uint8'), h, w, c)
    '5 shared memory', @() camera.snapshot()
  };
end

function ms = median_ms(call)
  spans = [];
  whole = tic();
  while numel(spans) < 100 && (numel(spans) < 3 || toc(whole) < 1)
    begin = tic();
    image = call();
    spans(end + 1) = toc(begin);
  end
  ms = 1e3 * median(spans);
end
