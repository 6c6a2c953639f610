// What the headers that `kadenz msg gen --lang cpp` writes have in common: LCM's encoding. C++17.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace kadenz_codec {

/// Bytes are no message of the type, or a message holds what its type cannot.
class Error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

constexpr int max_depth = 128;

template <std::size_t Width>
using Unsigned = std::conditional_t<
    Width == 1, std::uint8_t,
    std::conditional_t<Width == 2, std::uint16_t, std::conditional_t<Width == 4, std::uint32_t, std::uint64_t>>>;

/// Numbers that are read and written as they are.
template <class T>
constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// Writes members. Without a buffer it counts their bytes.
class Writer {
public:
    Writer(void *buffer, std::size_t size) : to_(static_cast<std::uint8_t *>(buffer)), size_(size) {}

    std::size_t written() const { return at_; }

    /// A member; `lengths` are what its vectors must hold, the outermost first.
    template <class T, class... Lengths>
    void operator()(const char *name, const T &value, Lengths... lengths) {
        const std::array<std::int64_t, sizeof...(lengths) + 1> stated{lengths..., 0};
        put(name, value, stated.data());
    }

private:
    template <class T>
    void put(const char *name, const T &value, const std::int64_t *) {
        if constexpr (is_number<T>) {
            numbers(&value, 1);
        } else if constexpr (std::is_same_v<T, bool>) {
            const std::uint8_t byte = value ? 1 : 0;
            numbers(&byte, 1);
        } else {
            static_cast<void>(name);
            T::visit(value, *this);
        }
    }

    void put(const char *name, const std::string &value, const std::int64_t *) {
        if (value.find('\0') != std::string::npos) {
            throw Error(std::string("the string ") + name + " holds a NUL, which would end it for every receiver");
        }
        if (value.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
            throw Error(std::string("the string ") + name + " is longer than 2 GiB");
        }
        const auto length = static_cast<std::int32_t>(value.size() + 1);
        numbers(&length, 1);
        numbers(value.c_str(), value.size() + 1);
    }

    template <class E, std::size_t N>
    void put(const char *name, const std::array<E, N> &values, const std::int64_t *stated) {
        elements(name, values, stated);
    }

    template <class E>
    void put(const char *name, const std::vector<E> &values, const std::int64_t *stated) {
        if (static_cast<std::uint64_t>(*stated) != values.size()) {
            throw Error(std::string(name) + " holds " + std::to_string(values.size()) + " elements, but is to hold " +
                        std::to_string(*stated));
        }
        elements(name, values, stated + 1);
    }

    template <class Values>
    void elements(const char *name, const Values &values, const std::int64_t *stated) {
        using E = typename Values::value_type;
        if constexpr (is_number<E>) {
            numbers(values.data(), values.size());
        } else {
            for (const E &it : values) put(name, it, stated);
        }
    }

    template <class T>
    void numbers(const T *values, std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        if (to_ != nullptr && bytes > size_ - at_) {
            throw Error("the buffer of " + std::to_string(size_) + " bytes is too short for the message");
        }
        for (std::size_t i = 0; to_ != nullptr && i < count; ++i) {
            Unsigned<sizeof(T)> bits;
            std::memcpy(&bits, values + i, sizeof(T));
            std::uint8_t *place = to_ + at_ + i * sizeof(T);
            for (std::size_t k = 0; k < sizeof(T); ++k) {
                place[k] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(bits) >> 8 * (sizeof(T) - 1 - k));
            }
        }
        at_ += bytes;
    }

    std::uint8_t *to_;
    std::size_t size_;
    std::size_t at_ = 0;
};

/// Reads members, and takes no more memory than the bytes can carry.
class Reader {
public:
    Reader(const void *bytes, std::size_t size) : from_(static_cast<const std::uint8_t *>(bytes)), size_(size) {}

    std::size_t left() const { return size_ - at_; }

    template <class T, class... Lengths>
    void operator()(const char *name, T &value, Lengths... lengths) {
        const std::array<std::int64_t, sizeof...(lengths) + 1> stated{lengths..., 0};
        for (const std::int64_t it : stated) {
            if (it < 0) throw Error(std::string("the length of ") + name + " is " + std::to_string(it));
        }
        get(name, value, stated.data());
    }

private:
    /// How many bytes a value takes at least.
    template <class T>
    static std::size_t least(const T *, const std::int64_t *) {
        if constexpr (std::is_arithmetic_v<T>) {
            return sizeof(T);
        } else {
            return T::least_bytes;
        }
    }

    static std::size_t least(const std::string *, const std::int64_t *) { return 5; }

    template <class E, std::size_t N>
    static std::size_t least(const std::array<E, N> *, const std::int64_t *stated) {
        return times(least(static_cast<const E *>(nullptr), stated), N);
    }

    template <class E>
    static std::size_t least(const std::vector<E> *, const std::int64_t *stated) {
        return times(least(static_cast<const E *>(nullptr), stated + 1), static_cast<std::uint64_t>(*stated));
    }

    static std::size_t times(std::uint64_t one, std::uint64_t other) {
        constexpr std::uint64_t most = std::numeric_limits<std::size_t>::max();
        return static_cast<std::size_t>(other > 0 && one > most / other ? most : one * other);
    }

    const std::uint8_t *take(const char *name, std::size_t bytes) {
        if (bytes > left()) throw Error(std::string("the message ends within ") + name);
        const std::uint8_t *found = from_ + at_;
        at_ += bytes;
        return found;
    }

    template <class T>
    void get(const char *name, T &value, const std::int64_t *) {
        if constexpr (is_number<T>) {
            numbers(name, &value, 1);
        } else if constexpr (std::is_same_v<T, bool>) {
            value = *take(name, 1) != 0;
        } else {
            depth_ += T::holds_itself ? 1 : 0;
            if (depth_ > max_depth) {
                throw Error(std::string(name) + " lies more than 128 deep within itself, which is not followed");
            }
            T::visit(value, *this);
            depth_ -= T::holds_itself ? 1 : 0;
        }
    }

    void get(const char *name, std::string &value, const std::int64_t *) {
        std::int32_t length = 0;
        numbers(name, &length, 1);
        if (length < 0) throw Error(std::string("the length of ") + name + " is " + std::to_string(length));
        const auto *text = reinterpret_cast<const char *>(take(name, static_cast<std::size_t>(length)));
        if (length == 0 || text[length - 1] != 0) {
            throw Error(std::string("the string ") + name + " does not end with a NUL");
        }
        value.assign(text, static_cast<std::size_t>(length) - 1);
    }

    template <class E, std::size_t N>
    void get(const char *name, std::array<E, N> &values, const std::int64_t *stated) {
        elements(name, values, stated);
    }

    template <class E>
    void get(const char *name, std::vector<E> &values, const std::int64_t *stated) {
        const auto count = static_cast<std::uint64_t>(*stated);
        const std::size_t each = least(static_cast<const E *>(nullptr), stated + 1);
        const std::size_t most = each == 0 ? free_ : left() / each;
        if (count > most) {
            throw Error(std::string(name) + " would have " + std::to_string(count) +
                        " elements, more than the message can hold");
        }
        free_ -= each == 0 ? static_cast<std::size_t>(count) : 0;
        values.resize(static_cast<std::size_t>(count));
        elements(name, values, stated + 1);
    }

    void get(const char *name, std::vector<bool> &values, const std::int64_t *stated) {
        const std::uint8_t *found = take(name, times(1, static_cast<std::uint64_t>(*stated)));
        values.assign(found, found + *stated);
    }

    template <class Values>
    void elements(const char *name, Values &values, const std::int64_t *stated) {
        if constexpr (is_number<typename Values::value_type>) {
            numbers(name, values.data(), values.size());
        } else {
            for (auto &it : values) get(name, it, stated);
        }
    }

    template <class T>
    void numbers(const char *name, T *values, std::size_t count) {
        const std::uint8_t *found = take(name, count * sizeof(T));
        for (std::size_t i = 0; i < count; ++i) {
            std::uint64_t all = 0;
            for (std::size_t k = 0; k < sizeof(T); ++k) all = all << 8 | found[i * sizeof(T) + k];
            const auto bits = static_cast<Unsigned<sizeof(T)>>(all);
            std::memcpy(values + i, &bits, sizeof(T));
        }
    }

    const std::uint8_t *from_;
    std::size_t size_;
    std::size_t at_ = 0;
    /// So many elements and rows may take no bytes.
    std::size_t free_ = size_ + 1024;
    int depth_ = 0;
};

/// An array of which each number is the same.
template <class T>
T filled(std::int32_t number) {
    if constexpr (std::is_arithmetic_v<T>) {
        return static_cast<T>(number);
    } else {
        T values;
        values.fill(filled<typename T::value_type>(number));
        return values;
    }
}

template <class T>
std::size_t encode(const T &message, void *buffer, std::size_t size) {
    Writer writer(buffer, size);
    writer("the fingerprint", T::fingerprint());
    T::visit(message, writer);
    return writer.written();
}

template <class T>
void decode(T &message, const void *bytes, std::size_t size) {
    Reader reader(bytes, size);
    std::uint64_t found = 0;
    reader("the fingerprint", found);
    if (found != T::fingerprint()) {
        throw Error(std::string("the message is not of the type ") + T::type_name() + ", or of another version of it");
    }
    reader("the message", message);
    if (reader.left() > 0) {
        throw Error("the message has " + std::to_string(reader.left()) + " bytes more than a " + T::type_name());
    }
}

}  // namespace kadenz_codec
