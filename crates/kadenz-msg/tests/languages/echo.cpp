// Decodes each line "type hexadecimal-digits", and encodes it again.
#include <functional>
#include <iostream>
#include <map>

#include "all.inc"

static void print(const std::vector<std::uint8_t> &bytes) {
    const char *digits = "0123456789abcdef";
    for (const auto it : bytes) std::cout << digits[it >> 4] << digits[it & 15];
    std::cout << "\n";
}

static void require(bool kept) {
    if (!kept) throw std::logic_error("a field is not what was set");
}

static void fields() {
    const auto load = [](std::int8_t small, const char *text) {
        robot::primitives made;
        made.small = small, made.raw = 200, made.single = 0.5f, made.text = text, made.yes = true;
        return made;
    };
    robot::arrays m;
    m.position = {1, 2, 3};
    m.matrix = {{{1, 2, 3}, {4, 5, 6}}};
    m.n = 2, m.m = 3;
    m.samples = {-7, 8};
    m.image = {{1, 2}, {3, 4}, {5, 255}};
    m.mixed[0] = {{0.5f, 1, 1.5f}, {2, 2.5f, 3}};
    m.mixed[1] = {{3.5f, 4, 4.5f}, {5, 5.5f, 6}};
    m.names = {"a", "gr\xc3\xb6\xc3\x9f" "er"};
    m.flags = {true, false};
    m.labels[0] = "x";
    m.cube = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, INT64_MIN}}};
    m.some = {load(-5, ""), load(0, "t")};
    m.pair = {load(1, ""), load(2, "")};
    m.table[0] = {"1", "2", "3"};
    m.table[1] = {"4", "5", "6"};
    auto again = robot::arrays::decode(m.encode());
    require(again == m && again.image[2][0] == 5 && again.cube[1][2][0] == 11 && again.table[1][0] == "4");
    require(robot::arrays::AXES == 3 && robot::mode::FAULT == -1);
    again.names.pop_back();
    try {
        again.encode();
        require(false);
    } catch (const kadenz_codec::Error &error) {
        require(std::string(error.what()) == "names holds 1 elements, but is to hold 2");
    }
    print(m.encode());
}

template <class T>
void echo(const std::vector<std::uint8_t> &bytes) {
    T message;
    try {
        message = T::decode(bytes);
    } catch (const kadenz_codec::Error &error) {
        std::cout << "refused: " << error.what() << "\n";
        return;
    }
    try {
        const std::vector<std::uint8_t> again = message.encode();
        T other;
        other.decode_from(again.data(), again.size());
        other.decode_from(again.data(), again.size());
        if (other.encode() != again) std::cout << "not the same";
        print(again);
    } catch (const kadenz_codec::Error &error) {
        std::cout << "not encoded: " << error.what() << "\n";
    }
}

int main() {
    const std::map<std::string, std::function<void(const std::vector<std::uint8_t> &)>> types = {
#define TYPE(text, name) {text, echo<name>},
#include "types.inc"
    };
    std::string line;
    while (std::getline(std::cin, line)) {
        if (line == "fields") {
            fields();
            break;
        }
        const auto space = line.find(' ');
        std::vector<std::uint8_t> bytes;
        for (auto at = space + 1; at + 1 < line.size(); at += 2) {
            bytes.push_back(static_cast<std::uint8_t>(std::stoi(line.substr(at, 2), nullptr, 16)));
        }
        types.at(line.substr(0, space))(bytes);
    }
}
