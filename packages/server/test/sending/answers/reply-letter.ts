interface Reply {
  from: string
  to: string
  /** The Message-ID of the message that is answered. */
  inReplyTo: string
  text: string
  /** By default it names the author, so that the reply can be found. */
  subject?: string | undefined
  fields?: readonly string[]
}

/** The source of a reply as it comes from outside. */
export function replyLetter({
  from,
  to,
  inReplyTo,
  text,
  subject = `Re: ${from}`,
  fields = [],
}: Reply): string {
  return [
    `From: Somebody <${from}>`,
    `To: ${to}`,
    `Subject: ${subject}`,
    `Message-ID: <${Math.random()}@example.org>`,
    `In-Reply-To: ${inReplyTo}`,
    ...fields,
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
    '',
  ].join('\r\n')
}
