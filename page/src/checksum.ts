/** Numbers that say everything a placement answers, for the comparison with Python (tests/test_page_tables.py). */

import type { Placement } from "./placement.ts";

const PRIMES = [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f];

/** All of `locate`: each place of each element, weighted by its number, modulo 2^32. */
export function checksum(placement: Placement): number {
  const [blocks, rows, columns] = placement.shape;
  let sum = 0;
  let number = 0;
  for (let block = 0; block < blocks; block++) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        for (const { lane, item, register, lsb } of placement.locate(block, row, column)) {
          const [a, b, c, d] = PRIMES;
          const value = Math.imul(lane + 1, a) ^ Math.imul(item + 1, b) ^ Math.imul(register + 1, c) ^ Math.imul(lsb + 1, d);
          sum = (sum + Math.imul(value, 2 * number++ + 1)) >>> 0;
        }
      }
    }
  }
  return sum;
}

/** Whether `elements` is exactly the inverse of `locate`: the same pairs of element and place, each once. */
export function inverts(placement: Placement): boolean {
  const [blocks, rows, columns] = placement.shape;
  const located: number[][] = [];
  let left = 0;
  for (let block = 0; block < blocks; block++) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const places = placement.locate(block, row, column);
        located.push(places.map(({ lane, item }) => lane * placement.items + item));
        left += places.length;
      }
    }
  }
  for (let place = 0; place < placement.lanes * placement.items; place++) {
    let last = -1;
    for (const [block, row, column] of placement.elements(Math.floor(place / placement.items), place % placement.items)) {
      const number = (block * rows + row) * columns + column;
      if (number <= last || !located[number]?.includes(place)) return false;
      last = number;
      left--;
    }
  }
  return left === 0;
}
