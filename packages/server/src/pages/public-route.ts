/** A request for a public route. It carries no credential; the token in its path is everything that it may do. */
export interface PublicRequest {
  /** HEAD is answered like GET, and neither may change what a person decided. */
  method: 'GET' | 'HEAD' | 'POST'
  /** The id of its answer, which the audit log names. */
  requestId: string
  /** The segment of the path at the parameter, as it was sent. */
  token: string
  query: URLSearchParams
  /** Fields of the form that was posted, urlencoded or multipart, without files. Empty if it was no form. */
  form: URLSearchParams
  /** The value of a cookie, or null. */
  cookie(name: string): string | null
  /** Cut after 512 characters. */
  userAgent: string | null
  /** `Sec-Purpose`, or the older `Purpose`, by which a browser marks a fetch in advance. */
  purpose: string | null
  client: {
    /** An IPv4 or IPv6 address; null if it is not known. */
    address: string | null
    /** An IPv4 address, or the /64 of an IPv6 one: the same for requests that count together. */
    group: string
  }
}

export interface PublicAnswer {
  status: number
  /**
   * Sent besides the headers that keep every public answer out of caches, frames and referrers. One of the same name
   * replaces theirs.
   */
  headers?: Readonly<Record<string, string>>
  /** A text is HTML unless `content-type` says otherwise. */
  body?: string | Uint8Array<ArrayBuffer> | null
}

/**
 * A route outside `/v1` that people and their mail programs call, such as `/u/{token}`. It is served even when the
 * service sheds load. Requests with an unknown token count for the address of their client.
 */
export interface PublicRoute {
  /** With one parameter, in the last segment: `/u/{token}`, `/t/o/{id}.gif`. */
  path: string
  /**
   * Whether it is part of the links in messages. Links are served on a host of their own if there is one, and never
   * refused if their token is known, since proxies of mail share an address among many people. All other routes are
   * pages for people, who make at most 300 requests a minute.
   */
  isLink: boolean
  /** Null if the route takes no POST. */
  form: PublicForm | null
  /** The page for an unknown token; a line of text by default. */
  unknown?: PublicAnswer
  /**
   * Whether we may have made a token of this form, as far as that shows without a look into the database. A POST with
   * another one is refused before its body is read.
   */
  isPossible?(token: string): boolean
  /** Null: the token is unknown. */
  serve(request: PublicRequest): Promise<PublicAnswer | null>
}

export interface PublicForm {
  bytesMax: number
  /**
   * The origin of the pages that may post the form, such as `https://mail.example.com`: what another page posts, or a
   * request without an `Origin`, is refused before it is read. If it is null, any client may post the form.
   */
  origin: (() => string) | null
}
