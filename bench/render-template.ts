const PARAGRAPH = '<p style="font-family:sans-serif;line-height:1.5">Thank you for your order.</p>\n'

/** A mail of 5 KB that confirms an order. */
export const TEMPLATE = {
  subject: 'Your order {{params.number}}',
  html: `<body><h1>Hello {{params.name}}</h1>{{#if params.items}}<table>{{#each params.items}}<tr><td>{{name}}</td><td>{{price}}</td></tr>
{{/each}}</table>{{/if}}${PARAGRAPH.repeat(50)}</body>`,
  text: 'Hello {{params.name}},\n{{#each params.items}}{{name}}: {{price}}\n{{/each}}',
  previewText: '{{params.items.length}} things are on their way',
}

export const PARAMS = {
  name: 'Grace Hopper & <co>',
  number: 4711,
  items: Array.from({ length: 10 }, (_, at) => ({ name: `Thing no. ${at}`, price: `${at}.90` })),
}
