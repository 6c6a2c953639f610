classdef Handle < handle
%HANDLE  What the library keeps open by a number, and closes.
  properties (SetAccess = protected)
    id = []
  end
  methods
    function close(this)
    %CLOSE  Close it; nothing where it is closed.
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
