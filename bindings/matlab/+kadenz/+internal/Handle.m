classdef Handle < handle
%HANDLE  An object of the library, which it knows by a number.
  properties (SetAccess = protected)
    id = []
  end
  methods
    function close(this)
    %CLOSE  Close the object; do nothing where it is closed already.
      if ~isempty(this.id)
        kadenz_mex('close', this.id);
        this.id = [];
      end
    end
    function delete(this)
      this.close();
    end
  end
end
