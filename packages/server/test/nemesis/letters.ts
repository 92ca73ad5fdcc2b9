/** One of the messages that lie in the mailboxes of `changed` accounts before anything happens. */
export function letterTo(email: string, number: number) {
  const head = `From: ada@a.test\r\nTo: ${email}\r\nSubject: letter ${number}\r\nMessage-ID: <${number}.${email}>`
  return { raw: `${head}\r\n\r\nHello\r\n`, internalDate: new Date(Date.UTC(2026, 0, 1) + number * 1_000) }
}
