function [type, node] = type_and_node(arguments)
%TYPE_AND_NODE  The arguments behind a channel: a type, a kadenz.Node, both in that order, or neither.
  type = '';
  node = [];
  for i = 1:numel(arguments)
    if ischar(arguments{i})
      type = arguments{i};
    elseif isa(arguments{i}, 'kadenz.Node')
      node = arguments{i};
    else
      error('kadenz:error', 'behind the channel stand a type, as ''robot.state_t'', and a kadenz.Node');
    end
  end
  if isempty(node)
    node = kadenz.Node();
  end
end
