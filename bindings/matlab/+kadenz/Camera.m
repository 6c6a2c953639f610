classdef Camera < kadenz.internal.Handle
%CAMERA  The newest frame of a camera, as an image of MATLAB: height x width x 3, or height x width.
%   cam = kadenz.Camera('rtsp://...')              or a name that `kadenz camera serve` serves, 'test://640x480@30', ...
%   cam = kadenz.Camera(URL, 'layout', 'gray')     'rgb', 'bgr', 'gray', also 'rgb@960x540'
%   image = cam.read(SECONDS)       the next frame that was not returned yet; [] where none came in time
%   image = cam.snapshot()          the newest frame, an error where it is older than 'maxAge' (1 s)
%   image = getsnapshot(cam)        the same, by the name that HebiCam uses
%   cam.age, cam.number             seconds, and the number of the last frame
%
%   Threads of the library receive, decode and convert; MATLAB copies one block of memory.
  properties
    maxAge = 1
  end
  properties (SetAccess = private)
    age = []
    number = []
  end
  properties (Access = private)
    address = []
  end
  methods
    function this = Camera(name, varargin)
      options = kadenz.internal.options(struct('layout', 'rgb', 'timeout', 10), varargin);
      parts = strsplit(options.layout, '@');
      parts{1} = [parts{1} '-column-major'];
      this.id = kadenz_mex('camera', name, strjoin(parts, '@'), options.timeout);
      if exist('kadenz_frame', 'file') == 3
        this.address = kadenz_mex('address', this.id);
      end
    end
    function image = read(this, seconds)
      if nargin < 2
        seconds = Inf;
      end
      while true
        image = this.take(min(seconds, 0.05), false);
        seconds = seconds - 0.05;
        if ~isempty(image) || seconds <= 0
          return
        end
      end
    end
    function image = snapshot(this)
      image = this.take(this.maxAge, true);
    end
    function image = getsnapshot(this)
      image = this.snapshot();
    end
    function close(this)
      this.address = [];
      close@kadenz.internal.Handle(this);
    end
  end
  methods (Access = private)
    function image = take(this, seconds, is_latest)
      if ~isempty(this.address)
        [image, age, number] = kadenz_frame(this.address, seconds, is_latest);
      elseif is_latest
        [image, age, number] = kadenz_mex('latest', this.id, seconds);
      else
        [image, age, number] = kadenz_mex('frame', this.id, seconds);
      end
      if ~isempty(image)
        this.age = age;
        this.number = number;
      end
    end
  end
end
