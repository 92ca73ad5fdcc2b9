/** A text without characters that no line may have. Separators of lines are line breaks. */
export const plainText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\r\n|[\r\u2028\u2029\u0085]/g, '\n')
    .replaceAll(/[^\P{Cc}\t\n]/gu, '')
