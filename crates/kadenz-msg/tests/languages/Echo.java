import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Decodes each line "type hexadecimal-digits", and encodes it again. */
public class Echo {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.equals("fields")) {
                out.println(hex(fields()));
                break;
            }
            String[] words = line.split(" ", 2);
            out.println(answer(words[0].contains(".") ? words[0] : "lcmtypes." + words[0], bytes(words[1])));
        }
        out.flush();
    }

    static String answer(String name, byte[] bytes) throws Exception {
        kadenz.Message message;
        try {
            message = (kadenz.Message) Class.forName(name).getMethod("decode", byte[].class).invoke(null, (Object) bytes);
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof IllegalArgumentException) {
                return "refused: " + thrown.getCause().getMessage();
            }
            throw thrown;
        }
        try {
            // A buffer of the other byte order, with other bytes before and after the message.
            ByteBuffer buffer = ByteBuffer.allocate(message.encodedSize() + 24).order(ByteOrder.LITTLE_ENDIAN);
            buffer.position(16);
            message.encodeTo(buffer);
            buffer.flip().position(16);
            kadenz.Message again = message.getClass().getDeclaredConstructor().newInstance();
            again.decodeFrom(buffer);
            if (buffer.hasRemaining() || !again.equals(message) || again.hashCode() != message.hashCode()
                || !again.toString().equals(message.toString())) {
                return "not the same: " + message + " " + again;
            }
            return hex((byte[]) message.getClass().getMethod("encode").invoke(message));
        } catch (IllegalArgumentException error) {
            return "not encoded: " + error.getMessage();
        }
    }

    static robot.primitives load(int small, String text) {
        robot.primitives made = new robot.primitives();
        made.small = (byte) small;
        made.raw = (byte) 200;
        made.single = 0.5f;
        made.text = text;
        made.yes = true;
        return made;
    }

    static byte[] fields() {
        robot.arrays m = new robot.arrays();
        m.position = new double[] {1, 2, 3};
        m.matrix = new double[][] {{1, 2, 3}, {4, 5, 6}};
        m.n = 2;
        m.m = 3;
        m.samples = new int[] {-7, 8};
        m.image = new byte[][] {{1, 2}, {3, 4}, {5, -1}};
        m.mixed = new float[][][] {{{0.5f, 1, 1.5f}, {2, 2.5f, 3}}, {{3.5f, 4, 4.5f}, {5, 5.5f, 6}}};
        m.names = new String[] {"a", "gr\u00f6\u00dfer"};
        m.flags[0] = true;
        m.labels[0] = "x";
        m.cube = new long[][][] {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, Long.MIN_VALUE}}};
        m.some = new robot.primitives[] {load(-5, ""), load(0, "t")};
        m.pair = new robot.primitives[] {load(1, ""), load(2, "")};
        m.table = new String[][] {{"1", "2", "3"}, {"4", "5", "6"}};
        robot.arrays again = robot.arrays.decode(m.encode());
        require(again.equals(m) && again.image[2][0] == 5 && again.mixed[1][0][2] == 4.5f && again.cube[1][2][0] == 11);
        require(again.table[1][0].equals("4") && again.some[1].text.equals("t") && robot.arrays.AXES == 3);
        again.names = new String[] {"a"};
        String said = "";
        try {
            again.encode();
        } catch (IllegalArgumentException error) {
            said = error.getMessage();
        }
        require(said.contains("names holds 1"));
        return m.encode();
    }

    static void require(boolean kept) {
        if (!kept) throw new IllegalStateException("a field is not what was set");
    }

    static byte[] bytes(String digits) {
        byte[] bytes = new byte[digits.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte it : bytes) text.append(String.format("%02x", it));
        return text.toString();
    }
}
