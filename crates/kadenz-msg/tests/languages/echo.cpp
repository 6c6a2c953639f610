// Decodes and encodes again what comes as "type hexadecimal-digits".
#include <functional>
#include <iostream>
#include <map>

#include "all.inc"

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
        const char *digits = "0123456789abcdef";
        for (const auto it : again) std::cout << digits[it >> 4] << digits[it & 15];
        std::cout << "\n";
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
        const auto space = line.find(' ');
        std::vector<std::uint8_t> bytes;
        for (auto at = space + 1; at + 1 < line.size(); at += 2) {
            bytes.push_back(static_cast<std::uint8_t>(std::stoi(line.substr(at, 2), nullptr, 16)));
        }
        types.at(line.substr(0, space))(bytes);
    }
}
