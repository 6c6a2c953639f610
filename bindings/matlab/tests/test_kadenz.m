function test_kadenz(folder)
%TEST_KADENZ  What a user of the toolbox can rely on. FOLDER is for runs and logs; prints a line a test, and ends with an error
%   where one failed.
  tests = {@messages, @typed_messages, @callbacks_and_the_latest, @the_newest_message_is_there_after_a_long_computation, ...
    @loops_and_runs, @plots, @cameras, @what_is_open_outlives_clear, @networks, ...
    @integers_of_64_bits_are_exact, @logs, @errors, @nothing_leaks};
  failed = 0;
  for i = 1:numel(tests)
    try
      tests{i}(folder);
      fprintf('ok %s\n', func2str(tests{i}));
    catch problem
      failed = failed + 1;
      fprintf('FAILED %s: %s (line %d)\n', func2str(tests{i}), problem.message, problem.stack(1).line);
    end
  end
  fprintf('%d passed, %d failed\n', numel(tests) - failed, failed);
  if failed
    exit(1);
  end
end

function raises(call, words)
  try
    call();
  catch problem
    assert(~isempty(strfind(problem.message, words)), 'it says: %s', problem.message);
    return
  end
  error('nothing was raised: %s', words);
end

function becomes(call)
  begin = tic();
  while ~call()
    assert(toc(begin) < 10, 'it does not become so: %s', func2str(call));
  end
end

function messages(~)
  node = kadenz.Node('memq://');
  arm = node.subscriber('ARM|LEG');
  node.publish('ARM', uint8('12345678'));
  node.publish('LEG', uint8([]));
  assert(isequal(arm.receive(5), uint8('12345678')) && strcmp(arm.from, 'ARM'));
  assert(arm.takenAt <= kadenz.now());
  becomes(@() arm.hasNewMessage());
  assert(isempty(arm.receive(5)) && strcmp(arm.from, 'LEG'));
  assert(~arm.hasNewMessage());
  assert(node.lost() == 0);
  begin = tic();
  assert(isempty(arm.receive(0)) && isempty(arm.receive(0.12)) && toc(begin) >= 0.1);
  arm.close();
  node.close();
  node.close();
  raises(@() node.publish('ARM', uint8(1)), 'closed');
end

function typed_messages(folder)
  types = fullfile(folder, '+robot');
  mkdir(types);
  write(fullfile(types, 'gain_t_encode.m'), 'function b = gain_t_encode(m)\nb = [uint8(1:8), fliplr(typecast(double(m.gain), ''uint8''))];\nend\n');
  write(fullfile(types, 'gain_t_decode.m'), 'function m = gain_t_decode(b)\nm.gain = typecast(fliplr(b(9:16)), ''double'');\nend\n');
  addpath(folder);
  node = kadenz.Node('memq://');
  sub = kadenz.Subscriber('GAIN', 'robot.gain_t', node);
  pub = kadenz.Publisher('GAIN', 'robot.gain_t', node);
  pub.send(struct('gain', 2.5));
  assert(sub.receive(5).gain == 2.5);
  raises(@() kadenz.Publisher('GAIN', 'robot.nothing_t', node), 'kadenz msg gen');
end

function callbacks_and_the_latest(~)
  node = kadenz.Node('memq://');
  sub = node.subscriber('X');
  assert(isempty(sub.LatestMessage));
  for i = 1:5
    node.publish('X', uint8(i));
  end
  becomes(@() isequal(sub.LatestMessage, uint8(5)));
  assert(sub.LatestMessage == 5 && ~sub.hasNewMessage());
  total = containers.Map({'sum'}, {0});
  sub.NewMessageFcn = @(message) add(total, message);
  for i = 1:4
    node.publish('X', uint8(i));
  end
  becomes(@() sub.poll() >= 0 && total('sum') == 10);
end

function the_newest_message_is_there_after_a_long_computation(~)
  node = kadenz.Node('memq://');
  sub = node.subscriber('X');
  for i = 1:2000
    node.publish('X', typecast(uint16(i), 'uint8'));
    if mod(i, 100) == 0
      pause(0.02);   % the script computes; nothing asks for a message
    end
  end
  becomes(@() isequal(sub.LatestMessage, typecast(uint16(2000), 'uint8')));
end

function add(total, message)
  total('sum') = total('sum') + double(message);
end

function loops_and_runs(folder)
  path = fullfile(folder, 'loop');
  run = kadenz.Recording(path, 'samples', true);
  loop = kadenz.Periodic('200Hz', 'deadline', '100ms', 'record', run);
  for i = 1:50
    tick = loop.next();
    value = run.time('control', @() sum(1:100));
  end
  assert(value == 5050 && tick.index >= 50 && abs(tick.step - 0.005 * (1 + tick.skipped)) < 1e-9);
  loop.close();
  assert(~isempty(strfind(run.finish(), 'control')));
  assert(exist(fullfile(path, 'control.samples.arrow'), 'file') == 2);
  run = kadenz.Run(path);
  assert(isequal(sort(run.names), {'control', 'lateness'}));
  facts = run.facts('lateness');
  % A skipped tick counts as late, too.
  assert(facts.count >= 50 && facts.deadline.limit_ns == 100e6);
  h = run.histogram('lateness');
  assert(sum(h.count) == facts.count && all(h.low <= h.high));
  assert(run.percentile('lateness', 50) <= run.percentile('lateness', 90));
  assert(isempty(run.percentile('lateness', 99.9)) && run.percentile('lateness', 100) == facts.max_ns);
  assert(sum(run.intervals('control').count) == 50);
  assert(isempty(run.differsFrom(run)));
  raises(@() run.facts('nothing'), 'lateness');
end

function plots(folder)
  run = kadenz.Run(fullfile(folder, 'loop'));
  figure('visible', 'off');
  run.plotPercentiles('lateness');
  run.plotOverTime('lateness');
  run.plotHistogram('control');
  assert(numel(get(gca, 'children')) >= 1);
  close all
end

function cameras(~)
  cam = kadenz.Camera('test://320x240@50');
  image = cam.read(10);
  assert(isequal(size(image), [240, 320, 3]) && isa(image, 'uint8') && cam.age >= 0);
  cam.maxAge = 60;
  first = cam.number;
  assert(isequal(size(cam.read(10)), [240, 320, 3]) && cam.number > first);
  assert(isequal(size(cam.snapshot()), size(getsnapshot(cam))));
  % The same pixels by the mex file, which MATLAB uses.
  assert(numel(unique(image)) > 4);
  [by_mex, age, number] = kadenz_mex('latest', cam.id, 60);
  assert(isequal(size(by_mex), size(image)) && age >= 0 && number >= cam.number);
  cam.maxAge = 0;
  raises(@() cam.snapshot(), 'old');
  cam.close();
  raises(@() cam.snapshot(), 'closed');
  gray = kadenz.Camera('test://320x240@50', 'layout', 'gray@160x120');
  assert(isequal(size(gray.read(10)), [120, 160]));
  raises(@() kadenz.Camera('not-served', 'timeout', 0.01), 'kadenz camera serve');
end

function what_is_open_outlives_clear(~)
  node = kadenz.Node('memq://');
  sub = node.subscriber('A');
  cam = kadenz.Camera('test://320x240@50');
  closed = kadenz.Node('memq://');
  number = closed.id;
  closed.close();
  clear kadenz_mex kadenz_frame
  node.publish('A', uint8(1));
  assert(sub.receive(5) == 1);
  assert(isequal(size(cam.read(10)), [240, 320, 3]));
  other = kadenz.Node('memq://');
  assert(other.id ~= number, 'a number of a closed object is that of another one');
end

function networks(folder)
  run = kadenz.Recording(fullfile(folder, 'bus'));
  net = kadenz.Network('sim:8', 'cycle', '500Hz');
  actual = net.input('waist yaw', hex2dec('6064'));
  target = net.output('waist yaw', hex2dec('607A'));
  control = net.output(4, hex2dec('6040'), 0, 'u16');
  raises(@() net.input('elbow', 1), 'waist yaw');
  raises(@() net.input('waist yaw', hex2dec('16064')), 'from 0 to 65535');
  raises(@() net.output('waist yaw', hex2dec('607A'), 256), 'from 0 to 255');
  raises(@() net.output('waist yaw', hex2dec('607A'), 0.5), 'from 0 to 255');
  net.start(run);
  cycle = 0;
  while net.state().operational < 8 && cycle < 20000
    cycle = net.wait(cycle, 20);
  end
  % Again where a busy machine let the drive fault: 128 resets it.
  for round = 1:20
    for word = [128, 6, 7, 15]
      net.set(control, word);
      for i = 1:50
        next = net.wait(cycle, 20);
        assert(next > cycle);
        cycle = next;
      end
    end
    net.set([target, control], [1000, 15]);
    last = cycle + 2000;
    while cycle < last && net.get(actual) ~= 1000
      cycle = net.wait(cycle, 20);
    end
    if net.get(actual) == 1000
      break
    end
  end
  assert(isequal(net.get([actual, target]), [1000, 1000]));
  assert(net.state().isRunning && net.state().devices == 8);
  raises(@() net.set(control, 70000), 'no place');
  raises(@() net.set(control + 0.5, 15), 'whole');
  raises(@() net.wait(-1, 1), 'whole');
  raises(@() net.set([target control], sparse([0 15])), 'sparse');
  raises(@() net.set([target control], [1i 15]), 'complex');
  raises(@() net.get(sparse([target 0])), 'sparse');
  assert(isequal(net.get([target, control]), [1000, 15]));
  raises(@() run.finish(), 'stop');
  assert(net.wait(0, 0) >= cycle && isempty(net.wait(1e9, 0)));
  % The series of the first loop stand in the way of the second one.
  second = kadenz.Network('sim:3');
  second.start(run);
  raises(@() second.wait(0, Inf), 'has ended');
  second.close();
  assert(~isempty(strfind(net.stop(), '8 devices')));
  run.finish();
end

function integers_of_64_bits_are_exact(folder)
  device = ['<Type ProductCode="17" RevisionNo="#x1">Counter</Type><Name>Counter</Name>' ...
    '<Fmmu>Outputs</Fmmu><Fmmu>Inputs</Fmmu>' ...
    '<Sm DefaultSize="128" StartAddress="#x1000" ControlByte="#x26" Enable="1">MBoxOut</Sm>' ...
    '<Sm DefaultSize="128" StartAddress="#x1080" ControlByte="#x22" Enable="1">MBoxIn</Sm>' ...
    '<Sm StartAddress="#x1100" ControlByte="#x64" Enable="1">Outputs</Sm>' ...
    '<Sm StartAddress="#x1180" ControlByte="#x20" Enable="1">Inputs</Sm>' ...
    '<RxPdo Sm="2" Fixed="1"><Index>#x1600</Index><Name>Outputs</Name><Entry><Index>#x7000</Index><SubIndex>1</SubIndex>' ...
    '<BitLen>64</BitLen><Name>Count</Name><DataType>LINT</DataType></Entry></RxPdo>' ...
    '<Mailbox><CoE/></Mailbox>'];
  write(fullfile(folder, 'counter.xml'), ['<EtherCATInfo><Vendor><Id>#x6A</Id></Vendor><Descriptions><Devices>' ...
    '<Device Physics="YY">' device '</Device></Devices></Descriptions></EtherCATInfo>']);
  write(fullfile(folder, 'counter.toml'), '[[device]]\nname = "counter"\nesi = "counter.xml"\nproduct = 17\n');
  net = kadenz.Network(['sim:' fullfile(folder, 'counter.toml')]);
  count = net.output('Counter', hex2dec('7000'), 1);
  net.start();
  exact = intmax('int64') - 1;
  net.setInteger([count count], [int64(7) exact]);
  assert(isa(net.getInteger(count), 'int64') && net.getInteger(count) == exact);
  net.set(count, 7);
  assert(isequal(net.getInteger([count; count]), int64([7; 7])) && net.get(count) == 7);
  raises(@() net.setInteger(count, 7), 'int64');
  net.close();
end

function logs(folder)
  path = fullfile(folder, 'drive.mcap');
  log = kadenz.LogWriter(path);
  for i = 1:10
    log.write('A', uint8(i), int64(1700000000000000000) + i);
  end
  log.write('NOW', uint8(1));
  log.finish();
  log = kadenz.Log(path);
  for i = 1:10
    [payload, channel, ns] = log.next();
    assert(payload == i && strcmp(channel, 'A') && ns == uint64(1700000000000000000) + i);
  end
  [~, channel] = log.next();
  assert(strcmp(channel, 'NOW'));
  [~, channel] = log.next();
  assert(isempty(channel));
  log.seek(int64(1700000000000000005));
  assert(log.next() == 5);
  raises(@() kadenz.Log('nothing.mcap'), 'nothing.mcap');
end

function errors(~)
  raises(@() kadenz.Node('nonsense://'), 'nonsense');
  raises(@() kadenz.Periodic('1000'), '1kHz');
  raises(@() kadenz.Periodic('1kHz', 'dead', 1), 'deadline');
  raises(@() kadenz.Periodic('1kHz', 'priority', 256), 'from 0 to 99');
  raises(@() kadenz.Periodic('1kHz', 'priority', NaN), 'from 0 to 99');
  raises(@() kadenz.Network('sim:3', 'priority', -1), 'from 0 to 99');
  raises(@() kadenz_mex('receive', 999, 0), 'not a subscription');
  raises(@() kadenz_mex('receive', -1, 0), 'not a subscription');
  raises(@() kadenz_mex('receive', NaN, 0), 'not a subscription');
  raises(@() kadenz_mex('receive', sparse(1), 0), 'sparse');
  raises(@() kadenz_mex('receive'), 'too few');
  raises(@() kadenz_mex('nothing'), 'no such command');
  raises(@() kadenz_mex(1), 'name');
  node = kadenz.Node('memq://');
  raises(@() node.publish('A', 'text'), 'uint8');
  raises(@() node.publish('A', 1.5), 'uint8');
  raises(@() kadenz_mex('receive', node.id, 0), 'not a subscription');
end

function nothing_leaks(~)
  work(200);
  before = resident();
  work(1000);
  % A pass that loses 10 KB each would lose 10 MB; the allocator itself may keep some.
  assert(resident() - before < 8e6, 'lost %d bytes', resident() - before);
end

function work(count)
  for i = 1:count
    node = kadenz.Node('memq://');
    sub = node.subscriber('A');
    node.publish('A', zeros(1, 10000, 'uint8'));
    sub.receive(5);
    sub.close();
    node.close();
  end
end

function bytes = resident()
  text = fileread('/proc/self/statm');
  fields = sscanf(text, '%d');
  bytes = fields(2) * 4096;
end

function write(path, text)
  file = fopen(path, 'w');
  fprintf(file, text);
  fclose(file);
end
