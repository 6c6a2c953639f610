function frames()
%FRAMES  What handing a frame over costs Octave's main thread: median of many, in milliseconds, as JSON.
  told = {};
  for layout = {'gray', 'rgb'}
    for size = {'640x480', '1280x720', '1920x1080', '3840x2160'}
      camera = kadenz.Camera(['test://' size{1} '@10'], 'layout', layout{1}, 'timeout', 20);
      camera.maxAge = 60;
      image = camera.read(20);
      spans = zeros(1, 100);
      for i = 1:100
        begin = tic();
        image = camera.snapshot();
        spans(i) = toc(begin);
        pause(0.01);
      end
      camera.close();
      told{end + 1} = sprintf('"%s %s": %.4f', layout{1}, size{1}, 1e3 * median(spans));
    end
  end
  printf('{%s}\n', strjoin(told, ', '));
end
