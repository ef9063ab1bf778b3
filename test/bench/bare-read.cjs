// bare-read.cjs SOCKET REQUEST…: sends each request (hexadecimal) when the one before is answered, prints what the last reply
// holds, and exits. So much of a read by 9P is Node's, whoever does it.
const { writeSync } = require("node:fs");
const { connect } = require("node:net");

const [path, ...requests] = process.argv.slice(2);
const send = () => socket.write(Buffer.from(requests.shift(), "hex"));
const socket = connect({
  path,
  onread: {
    buffer: Buffer.allocUnsafe(65_560),
    callback(size, bytes) {
      if (requests.length > 0) return send() || true;
      writeSync(1, bytes.subarray(11, size));
      process.exit();
    },
  },
});
send();
