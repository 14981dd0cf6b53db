// Numbers as words for people. Pure.

export function plural(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function count(number: number): string {
  return number.toLocaleString("en-US");
}

export function dollars(amount: number): string {
  return amount > 0 && amount < 0.01 ? "less than $0.01" : `$${amount.toFixed(2)}`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1]}`;
}
