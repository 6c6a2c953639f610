function controller(folder, url)
%CONTROLLER  Holds the arm at 1 rad, and records what messages cost it: controller(RUN, URL).
  if nargin < 1, folder = 'controller'; end
  if nargin < 2, url = 'udpm://239.255.76.67:7667?ttl=0'; end
  node = kadenz.Node(url);
  feedback = node.subscriber('FEEDBACK', 'arm.feedback_t');
  commands = node.publisher('COMMAND', 'arm.command_t');
  command = arm.command_t();
  run = kadenz.Recording(folder);
  waits = kadenz.now();
  state = feedback.receive(30);
  while ~isempty(state)
    run.record('receive', max(waits, feedback.takenAt), kadenz.now());
    command.number = state.number;
    command.sent_ns = state.sent_ns;
    command.torque = 4.905 * 0.8415 + 40 * (1 - state.position) - 6 * state.velocity;
    run.time('publish', @() commands.send(command));
    waits = kadenz.now();
    state = feedback.receive(1);
  end
  disp(run.finish());
end
