/** A file of a message that is sent. Its content repeats its name. */
export const fileOf = (filename: string, bytes: number, traits: object = {}) => ({
  filename,
  contentType: 'application/pdf',
  content: Buffer.alloc(bytes, filename).toString('base64'),
  ...traits,
})
