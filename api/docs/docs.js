// Shows the document with Swagger UI. An API key that the user enters stays only in
// the memory of the page.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#document",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  displayRequestDuration: true,
  persistAuthorization: false,
  showExtensions: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
