// The Java HdrHistogram's side of `java_interop.rs`: `read LOG` tells what it makes of a log that
// Kadenz wrote; `write LOG` writes one and tells what it recorded. Both in the same words, a line a
// tag: tag, intervals, count, minimum, maximum, mean, standard deviation, percentiles.

import java.io.File;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;
import org.HdrHistogram.HistogramLogWriter;
import org.HdrHistogram.IntCountsHistogram;
import org.HdrHistogram.PackedHistogram;
import org.HdrHistogram.AbstractHistogram;

public class Interop {
    static final double[] PERCENTILES = {
        0, 0.1, 7, 25, 50, 55, 75, 90, 99, 99.9, 99.99, 99.999, 99.9999, 100
    };

    static class Sum {
        int intervals = 0;
        Histogram histogram = new Histogram(3);
    }

    static final Map<String, Sum> SUMS = new TreeMap<>();

    public static void main(String[] args) throws Exception {
        if (args[0].equals("read")) {
            read(args[1]);
        } else {
            write(args[1]);
        }
        for (Map.Entry<String, Sum> entry : SUMS.entrySet()) {
            System.out.println(entry.getKey() + describe(entry.getValue()));
        }
    }

    static void read(String log) throws Exception {
        try (HistogramLogReader reader = new HistogramLogReader(new File(log))) {
            while (reader.hasNext()) {
                EncodableHistogram interval = reader.nextIntervalHistogram();
                if (interval != null) {
                    add((Histogram) interval);
                }
            }
            System.out.printf("start %.3f%n", reader.getStartTimeSec());
        }
    }

    static void add(AbstractHistogram interval) {
        String tag = interval.getTag() == null ? "-" : interval.getTag();
        Sum sum = SUMS.computeIfAbsent(tag, any -> new Sum());
        sum.intervals++;
        sum.histogram.add(interval);
    }

    static String describe(Sum sum) {
        Histogram all = sum.histogram;
        StringBuilder line = new StringBuilder();
        line.append(' ').append(sum.intervals).append(' ').append(all.getTotalCount());
        line.append(' ').append(all.getMinValue()).append(' ').append(all.getMaxValue());
        line.append(' ').append(all.getMean()).append(' ').append(all.getStdDeviation());
        for (double percentile : PERCENTILES) {
            line.append(' ').append(all.getValueAtPercentile(percentile));
        }
        return line.toString();
    }

    static void write(String path) throws Exception {
        Random random = new Random(7);
        long start = 1441812279474L;
        HistogramLogWriter log = new HistogramLogWriter(new File(path));
        log.outputComment("[Logged with jHiccup version 2.0.10]");
        log.outputLogFormatVersion();
        log.outputStartTime(start);
        log.setBaseTime(start);
        log.outputLegend();
        for (int i = 0; i < 40; i++) {
            AbstractHistogram histogram = one(i);
            for (int n = 0; n < 1000 && i != 20; n++) {
                histogram.recordValue((long) Math.exp(random.nextDouble() * 28.0));
            }
            if (i == 32) {
                histogram.shiftValuesLeft(1);
            }
            if (i % 4 == 3) {
                histogram.setTag("tagged-" + i % 8);
            }
            histogram.setStartTimeStamp(start + i * 1000L);
            histogram.setEndTimeStamp(start + i * 1000L + 1000L);
            log.outputIntervalHistogram(histogram);
            add(histogram);
        }
        log.close();
        System.out.printf("start %.3f%n", start / 1000.0);
    }

    static AbstractHistogram one(int i) {
        switch (i % 5) {
            case 0: return new Histogram(3);
            case 1: return new Histogram(20_000L, 30L * 24 * 3600 * 1_000_000_000L, 2);
            case 2: return new IntCountsHistogram(1L << 42, 3);
            case 3: return new ConcurrentHistogram(3);
            default: return new PackedHistogram(4);
        }
    }
}
