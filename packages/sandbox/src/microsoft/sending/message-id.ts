/** A Message-ID as Exchange makes them, of 32 hexadecimal digits that no other has. */
export const newMessageId = (unique: string): string =>
  `<${unique.slice(0, 16)}@${unique.slice(16)}.eurprd01.prod.outlook.com>`
